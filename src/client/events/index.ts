// Events, by which components report what they do.

export * from './event-recorder.ts';
export * from './correlator.ts';
