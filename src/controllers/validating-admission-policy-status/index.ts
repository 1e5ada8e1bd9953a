// Whether the expressions of admission policies fit the kinds that they are for.

export { ValidatingAdmissionPolicyStatusController } from './validating-admission-policy-status-controller.ts';
