// The controller of ephemeral volumes.

export { EphemeralVolumeController } from './ephemeral-volume-controller.ts';
