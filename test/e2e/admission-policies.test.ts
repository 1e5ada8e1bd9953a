// Admission policies through kubectl: rejections, warnings, and mutations.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  kubectls,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

/** A policy with a limit from a ConfigMap, and a policy that adds a label to every object. */
const POLICIES = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replica-limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, deployments/scale]}
  validations:
  - expression: object.spec.replicas <= int(params.data.max)
    messageExpression: "'no more than ' + params.data.max + ' replicas, not ' + string(object.spec.replicas)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replica-limit}
spec:
  policyName: replica-limit
  validationActions: [Deny]
  paramRef: {name: limits, parameterNotFoundAction: Deny}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - {expression: "'owner' in object.metadata.labels", message: it has no owner}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owned}
spec: {policyName: owned, validationActions: [Warn]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: tier}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'tier': 'web'}}}"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: tier}
spec: {policyName: tier}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data: {max: "2"}
`;

// Most kubectls are older than MutatingAdmissionPolicies; the newest asks the server about unknown
// kinds.
const newest = kubectls().slice(-1);

describe
  .skipIf(missingKubectl !== undefined)
  .each(newest.length > 0 ? newest : [{ version: 'none', path: '' }])(
  named('admission policies with kubectl $version', missingKubectl),
  ({ path }) => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    const refused = async (args: string) => (await kubectl.try(args)).stderr;
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '1'], { dataDir: dir.path });
      kubectl = cluster.kubectl(path);
      await kubectl.run('apply -f -', { input: POLICIES });
      // The policies are in force as soon as the server has seen them.
      await eventually('the policies to act', async () =>
        (await refused('create deployment probe --image=x --replicas=9 --dry-run=server')).includes(
          'replica-limit',
        ),
      );
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });

    test('a rejection has the message of the policy', async () => {
      const why =
        "ValidatingAdmissionPolicy 'replica-limit' with binding 'replica-limit' denied " +
        'request: no more than 2 replicas, not 3';
      expect(await refused('create deployment web --image=x --replicas=3')).toContain(
        `error: failed to create deployment: deployments.apps "web" is forbidden: ${why}\n`,
      );
    });

    test('objects with a warning are created, and mutated', async () => {
      const { stdout, stderr } = await kubectl.try('create deployment web --image=x --replicas=2');
      expect(stdout).toBe('deployment.apps/web created\n');
      expect(stderr).toBe(
        "Warning: Validation failed for ValidatingAdmissionPolicy 'owned' with binding 'owned': it has no owner\n",
      );
      expect(await kubectl.run('get deployment web -o jsonpath={.metadata.labels.tier}')).toBe(
        'web',
      );
    });

    test('scaling meets the same limit, and the limit can be changed', async () => {
      expect(await refused('scale deployment web --replicas=4')).toContain(
        'no more than 2 replicas, not 4',
      );
      await kubectl.run(`patch configmap limits -p '{"data":{"max":"4"}}'`);
      await eventually('the new limit', async () =>
        (await kubectl.try('scale deployment web --replicas=4')).stdout.includes('scaled'),
      );
    });
  },
);
