"""Before lowering: functions as PTIR in which every fusion is one kernel (`prepare.py`)."""
