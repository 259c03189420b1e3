"""Repairs that let stock fairseq 0.12.2 run on today's Python, torch and numpy; `python -m fairseq_compat` lists them.

No import starts it: the file `fairseq_compat.pth` beside the installed packages runs `import_hook.py` when Python
starts, and the hook loads the rest when fairseq, or the hydra it needs, is first imported.
"""
