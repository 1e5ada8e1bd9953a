// The controllers that keep claims and volumes as long as they are in use.

export { PvProtectionController } from './pv-protection-controller.ts';
export { PvcProtectionController } from './pvc-protection-controller.ts';
export { VacProtectionController } from './vac-protection-controller.ts';
