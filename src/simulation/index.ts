// Simulation: faults, histories and exploration of clusters on a virtual clock.

export { componentOfUser, SERVER_COMPONENT, TEST_COMPONENT } from './faults/index.ts';
export type { Fault, Faults } from './faults/index.ts';
export { recorder } from './history/recorder.ts';
export type { RecordedRequest } from './history/recorder.ts';
export { HistoryHash } from './history/history-hash.ts';
export { Simulation } from './simulation.ts';
export type { Restart } from './simulation.ts';
