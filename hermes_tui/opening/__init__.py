"""How the browser opens: what is asked for, what is remembered, the first rows."""
