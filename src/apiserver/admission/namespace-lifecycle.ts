// Rejects the creation of objects in a namespace that does not exist or is terminating, and the
// deletion of namespaces that the cluster needs.

import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

const UNDELETABLE: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/**
 * Virtual resources about a namespace, which may be created although the namespace does not exist.
 */
const ACCESS_REVIEWS: ReadonlySet<string> = new Set(['localsubjectaccessreviews']);

export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly ignoresHeartbeats = true;
  readonly #services: AdmissionServices;

  constructor(services: AdmissionServices) {
    this.#services = services;
  }

  concerns({ operation, resource }: AdmissionTarget): boolean {
    return operation !== 'CONNECT' && !ACCESS_REVIEWS.has(resource.resource);
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const { namespace, object } = attributes;
    if (namespace === '') return object;
    const lookup = this.#services.find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (it) => this.#admitInto(it, attributes));
  }

  #admitInto(
    found: Immutable<Namespace> | undefined,
    {
      operation,
      namespace,
      resource,
      object,
      name,
    }: AdmissionAttributes & { readonly object: KubeObject },
  ): KubeObject {
    if (found === undefined)
      throw apierrors.notFound({ group: '', resource: 'namespaces' }, namespace);
    if (operation !== 'CREATE' || found.metadata.deletionTimestamp === undefined) return object;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const forbidden = apierrors.forbidden(
      resource,
      name === '' ? (object.metadata.name ?? '') : name,
      why,
    ).status;
    const cause = {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    };
    throw apierrors.fromStatus({
      ...forbidden,
      details: { ...forbidden.details, causes: [cause] },
    });
  }

  /** Rejects the deletion of a protected namespace here, so that no webhook is called for it. */
  admitRequest({ operation, resource, name }: AdmissionAttributes): undefined {
    if (
      operation !== 'DELETE' ||
      resource.group !== '' ||
      resource.resource !== 'namespaces' ||
      !UNDELETABLE.has(name)
    )
      return undefined;
    throw apierrors.forbidden(resource, name, 'this namespace may not be deleted');
  }
}
