// Events: what components tell people.

export * from './event-recorder.ts';
export * from './correlator.ts';
