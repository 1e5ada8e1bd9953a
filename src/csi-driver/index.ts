export { CsiDriver, type DriverSockets } from './driver.ts';
export type { DriverHost } from './driver-host.ts';
export { DEFAULT_NAME, type DriverSettings, topologyKey } from './settings.ts';
export { systemHost } from './system-host.ts';
