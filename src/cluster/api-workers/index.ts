// Processes that serve the API beside the main one, on further cores.

export { ApiWorkers, type ApiWorkersConfig, type ApiWorkersSettings } from './workers.ts';
export type { Logging } from './settings.ts';
