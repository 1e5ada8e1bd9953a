// Counters and histograms, for what the scheduler tells of itself.

export * from '../../machinery/instruments.ts';
