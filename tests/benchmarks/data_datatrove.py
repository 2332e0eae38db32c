"""datatrove's MinHash steps on the same records; runs in a Python of its own that has datatrove.

python data_datatrove.py FOLDER
"""

import shutil
import sys
from pathlib import Path

WORKERS, BUCKETS, HASHES, WORDS = 2, 21, 6, 5
"""As many bands, minima and words as Alula takes for a similarity of 0.8."""


def main() -> None:
    """Signatures, buckets, clusters, filter: each of them once over the corpus."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    folder = Path(sys.argv[1])
    work = folder / "datatrove"
    shutil.rmtree(work, ignore_errors=True)
    config = MinhashConfig(n_grams=WORDS, num_buckets=BUCKETS, hashes_per_bucket=HASHES)
    reader = JsonlReader(str(folder), glob_pattern="corpus.jsonl", text_key="prompt", id_key="id")
    steps = [
        ([reader, MinhashDedupSignature(str(work / "signatures"), config)], 1),
        ([MinhashDedupBuckets(str(work / "signatures"), str(work / "buckets"), config=config)], BUCKETS),
        ([MinhashDedupCluster(str(work / "buckets"), str(work / "removed"), config=config)], 1),
        ([reader, MinhashDedupFilter(str(work / "removed")), JsonlWriter(str(work / "kept"))], 1),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        logs = str(work / f"logs-{number}")
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(WORKERS, tasks), logging_dir=logs).run()


if __name__ == "__main__":
    main()
