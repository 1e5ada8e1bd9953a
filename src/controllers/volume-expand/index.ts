// The controller of claims that ask for more.

export { VolumeExpandController } from './volume-expand-controller.ts';
