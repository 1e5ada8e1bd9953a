import { describe, expect, it } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { validatePod } from '#api/groups/core/v1/validation/index.ts';
import { podWarnings } from '#api/groups/core/v1/warnings.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { reviewPod } from './review.ts';
import type { Pod } from './pod.ts';

/** A pod as somebody might send it. */
interface Draft {
  readonly metadata: { name: string; readonly annotations: Record<string, string> };
  readonly spec: {
    serviceAccountName?: string;
    readonly containers: { image: string; resources?: object; readonly volumeMounts: { name: string; mountPath: string }[] }[];
    readonly volumes: object[];
  };
}

const scheme = newDefaultScheme();
const message = allSchemas.message('core/v1.Pod');

/** As it comes to its strategy, with the token mounted. `change` may do with the draft what it likes. */
function pod(token: string, change: (draft: Draft) => void = () => undefined): Pod {
  const draft = {
    metadata: { name: 'web-x7k2p', namespace: 'default', uid: 'u', annotations: { note: 'one' } },
    spec: {
      serviceAccountName: 'default',
      containers: [
        {
          name: 'main',
          image: 'web',
          volumeMounts: [{ name: token, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
        },
      ],
      volumes: [{ name: token, projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
    },
  };
  change(draft);
  const object = decodeObject(message, draft).object;
  scheme.codecOf(pods)?.applyDefaults(object);
  return object as unknown as Pod;
}

const container = ({ spec }: Draft): Draft['spec']['containers'][number] =>
  spec.containers[0] as Draft['spec']['containers'][number];

const changes: Record<string, (draft: Draft) => void> = {
  nothing: () => undefined,
  'another name': (draft) => (draft.metadata.name = 'web-abcde'),
  'an image with a space': (draft) => (container(draft).image = ' web'),
  'no image': (draft) => (container(draft).image = ''),
  'a mount of no volume': (draft) => (container(draft).volumeMounts[0] = { name: 'kube-api-access-zzzzz', mountPath: '/token' }),
  'the token twice': (draft) => draft.spec.volumes.push(draft.spec.volumes[0] as object),
  'a token beside the token': (draft) => draft.spec.volumes.push({ ...draft.spec.volumes[0], name: 'kube-api-access-bbbbb' }),
  'a bad annotation': (draft) => (draft.metadata.annotations['container.apparmor.security.beta.kubernetes.io/none'] = 'x'),
  'a deprecated annotation': (draft) => (draft.metadata.annotations['scheduler.alpha.kubernetes.io/critical-pod'] = ''),
  'a fraction of a byte': (draft) => (container(draft).resources = { requests: { memory: '100m' } }),
  'no account': (draft) => delete draft.spec.serviceAccountName,
  'a claim named after the pod': (draft) =>
    draft.spec.volumes.push({
      name: 'data',
      ephemeral: {
        volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
      },
    }),
  'a claim named after a long name': (draft) => {
    changes['a claim named after the pod']?.(draft);
    draft.metadata.name = 'x'.repeat(252);
  },
};

describe('the review of a new pod', () => {
  it.each(Object.keys(changes))('says what validation says, whatever it has seen before: %s', (what) => {
    const change = changes[what];
    for (const token of ['kube-api-access-aaaaa', 'kube-api-access-bbbbb', 'kube-api-access-aaaaa', 'data-volume']) {
      // What is spotless is known by then.
      expect(reviewPod(pod(token))).toEqual({ errors: [], warnings: [] });
      const changed = pod(token, change);
      const review = reviewPod(changed);
      expect(review.errors.map(String)).toEqual(validatePod(changed).map(String));
      expect(review.warnings).toEqual(podWarnings(changed));
      expect(reviewPod(changed)).toBe(review);
    }
  });

  it('finds faults in most of these pods', () => {
    const faulty = Object.keys(changes).filter((what) => {
      const { errors, warnings } = reviewPod(pod('kube-api-access-aaaaa', changes[what]));
      return errors.length + warnings.length > 0;
    });
    expect(faulty).toEqual([
      'an image with a space',
      'no image',
      'a mount of no volume',
      'the token twice',
      'a bad annotation',
      'a deprecated annotation',
      'a fraction of a byte',
      'no account',
      'a claim named after a long name',
    ]);
  });
});
