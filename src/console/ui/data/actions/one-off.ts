// Objects that an action of the page creates: a Job of a CronJob, and a pod that looks into a node.

import type { KubeObject } from '../lists/live-object.ts';

/** An object without a name of its own: the server adds the end of it. */
export interface NewObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly generateName: string };
  readonly spec: unknown;
}

/** Names of Jobs have at most 63 characters: their pods get the name as a label. */
const MAX_JOB_PREFIX = 50;

/** Returns the Job that `kubectl create job --from=cronjob/NAME` creates. */
export function jobOf({ metadata, spec }: KubeObject): NewObject {
  const template = (spec?.['jobTemplate'] ?? {}) as {
    readonly metadata?: {
      readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec?: unknown;
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${metadata.name.slice(0, MAX_JOB_PREFIX)}-manual-`,
      namespace: metadata.namespace,
      labels: template.metadata?.labels ?? {},
      annotations: {
        'cronjob.kubernetes.io/instantiate': 'manual',
        ...template.metadata?.annotations,
      },
      ownerReferences: [
        // Without blockOwnerDeletion, which needs more permissions.
        {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          name: metadata.name,
          uid: metadata.uid,
          controller: true,
        },
      ],
    },
    spec: template.spec,
  };
}

/** The node's name is shortened: a pod's name has at most 253 characters, its label 63. */
const MAX_NODE_PREFIX = 40;

/**
 * Returns the pod that `kubectl debug node/NAME` creates: in the node's namespaces of processes and
 * network, with its files at /host.
 */
export function nodeDebugPod(node: string, namespace: string, image: string): NewObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: `node-debugger-${node.slice(0, MAX_NODE_PREFIX)}-`, namespace },
    spec: {
      nodeName: node,
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ name: 'host-root', hostPath: { path: '/' } }],
      containers: [
        {
          name: 'debugger',
          image,
          stdin: true,
          tty: true,
          terminationMessagePolicy: 'File',
          volumeMounts: [{ name: 'host-root', mountPath: '/host' }],
        },
      ],
    },
  };
}
