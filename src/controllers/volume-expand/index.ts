// The volume expansion controller.

export { VolumeExpandController } from './volume-expand-controller.ts';
