// ReferenceGrants: decide which objects of other namespaces may be referenced.

import { GATEWAY_GROUP, type ReferenceGrant } from '../gateway-api/types.ts';

export interface Reference {
  /** The referring kind of the Gateway API, and its namespace. */
  readonly from: { readonly kind: string; readonly namespace: string };
  readonly to: {
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
}

export class Grants {
  readonly #byNamespace = new Map<string, ReferenceGrant[]>();

  constructor(grants: readonly ReferenceGrant[]) {
    for (const grant of grants) {
      const { namespace = '' } = grant.metadata;
      const present = this.#byNamespace.get(namespace);
      if (present === undefined) this.#byNamespace.set(namespace, [grant]);
      else present.push(grant);
    }
  }

  /**
   * Reports whether the reference stays in its namespace, or a grant in the other namespace allows
   * it.
   */
  allow({ from, to }: Reference): boolean {
    if (from.namespace === to.namespace) return true;
    return (this.#byNamespace.get(to.namespace) ?? []).some(
      ({ spec }) =>
        spec.from.some(
          ({ group, kind, namespace }) =>
            group === GATEWAY_GROUP && kind === from.kind && namespace === from.namespace,
        ) &&
        spec.to.some(
          ({ group, kind, name }) =>
            group === to.group &&
            kind === to.kind &&
            (name === undefined || name === '' || name === to.name),
        ),
    );
  }
}
