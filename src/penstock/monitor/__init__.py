"""What is it doing? SysStream, the settings of a run that can be changed while it runs, and who looks at them."""
