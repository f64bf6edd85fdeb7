"""Where changes come from: files and Kafka as Spark reads them, their positions and gaps."""
