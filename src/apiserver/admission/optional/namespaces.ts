// NamespaceExists rejects requests in namespaces that do not exist. NamespaceAutoProvision creates
// the namespace of an object that is created.

import { type Namespace, namespaces } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Find } from '../../catalog/internal-client.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

interface NamespaceServices {
  readonly find: Find;
  /** Creates namespaces, as the server itself. */
  readonly client: Client;
}

const isNamespace = ({ resource }: AdmissionTarget): boolean =>
  resource.group === '' && resource.resource === 'namespaces';

export class NamespaceExists implements AdmissionPlugin {
  readonly name = 'NamespaceExists';
  readonly ignoresHeartbeats = true;
  readonly #find: Find;

  constructor({ find }: Pick<NamespaceServices, 'find'>) {
    this.#find = find;
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation !== 'CONNECT' && !isNamespace(target);
  }

  validate({ namespace }: AdmissionAttributes): Awaitable<void> {
    if (namespace === '') return undefined;
    const lookup = this.#find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (found) => {
      if (found === undefined)
        throw apierrors.notFound({ group: '', resource: 'namespaces' }, namespace);
    });
  }
}

export class NamespaceAutoProvision implements AdmissionPlugin {
  readonly name = 'NamespaceAutoProvision';
  readonly ignoresHeartbeats = true;
  readonly #services: NamespaceServices;

  constructor(services: NamespaceServices) {
    this.#services = services;
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'CREATE' && !isNamespace(target);
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const { namespace, dryRun, object } = attributes;
    if (namespace === '' || dryRun) return object;
    const { find } = this.#services;
    const lookup = find<Immutable<Namespace>>('', 'namespaces', '', namespace);
    return andThen(lookup, (found) => (found === undefined ? this.#provision(attributes) : object));
  }

  async #provision({
    namespace,
    object,
    resource,
    name,
  }: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    try {
      await this.#services.client.resource(namespaces).create({ metadata: { name: namespace } });
    } catch (error) {
      if (apierrors.isAlreadyExists(error)) return object;
      throw apierrors.forbidden(resource, name, error instanceof Error ? error : String(error));
    }
    return object;
  }
}
