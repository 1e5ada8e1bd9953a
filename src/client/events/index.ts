// Events, by which components report their actions.

export * from './event-recorder.ts';
export * from './correlator.ts';
