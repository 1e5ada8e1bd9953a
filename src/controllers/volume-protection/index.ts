// The controllers that keep claims and volumes for as long as they are used.

export { PvProtectionController } from './pv-protection-controller.ts';
export { PvcProtectionController } from './pvc-protection-controller.ts';
export { VacProtectionController } from './vac-protection-controller.ts';
