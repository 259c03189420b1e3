from alibert.cli import main

main()
