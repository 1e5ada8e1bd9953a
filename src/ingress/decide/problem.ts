// Problems of objects whose kind has no condition for them: Ingresses and Services.

import type { Immutable, ObjectMeta } from '#api/machinery/meta/v1/index.ts';

export interface Problem {
  readonly apiVersion: 'networking.k8s.io/v1' | 'v1';
  readonly kind: 'Ingress' | 'Service';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The description, without data of Secrets. */
  readonly text: string;
}

export function problemOf(
  kind: Problem['kind'],
  metadata: Immutable<ObjectMeta>,
  text: string,
): Problem {
  const { namespace = '', name = '', uid = '' } = metadata;
  return {
    apiVersion: kind === 'Ingress' ? 'networking.k8s.io/v1' : 'v1',
    kind,
    namespace,
    name,
    uid,
    text,
  };
}

export const problemText = ({ kind, namespace, name, text }: Problem): string =>
  `${kind} ${namespace}/${name}: ${text}`;
