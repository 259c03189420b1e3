"""What is a model worth? Every task whose data are there: `python -m downstream.evaluate MODEL... --data DIR`.

DIR holds the data sets, each in a folder of the name that its recipe says, at any depth. Each set and each model, and
what it has to beat, is one command of downstream.finetune in a process of its own, with an output folder of its own;
then comes downstream.report over all of them. What is finished is not done again.
"""
