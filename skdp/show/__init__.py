"""Everything that is shown: plans, reports, ledgers and pictures as text, HTML, JSON and frames."""
