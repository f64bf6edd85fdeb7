"""Why a document looks as it does: its rows, what altered it last, what is not in it and why."""
