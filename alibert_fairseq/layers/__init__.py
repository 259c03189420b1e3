"""What encoders are built of: functions and modules over tensors, which know of no configuration."""
