// The controller that type-checks the expressions of admission policies.

export { ValidatingAdmissionPolicyStatusController } from './validating-admission-policy-status-controller.ts';
