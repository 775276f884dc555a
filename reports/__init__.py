"""What is shown: tables, HTML and Markdown, from the views of the store."""
