"""The thinking that needs no Spark: evaluating expressions, assembling and rendering documents."""
