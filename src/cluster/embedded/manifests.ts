// Applies manifests: YAML text or objects of any kinds that the server has, custom resources
// included.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { parseYamlDocuments } from '#api/machinery/codec/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import { resourcesIn } from '#controllers/discovery.ts';
import * as apierrors from '#machinery/apierrors.ts';

/** YAML text of one or more documents, an object, or several. A List counts as its items. */
export type Manifest = string | object | readonly object[];

export interface ApplyManifestOptions {
  /** The namespace of objects that name none. Default: 'default'. */
  readonly namespace?: string;
  /** The manager that owns the applied fields. Default: 'coxswain'. */
  readonly fieldManager?: string;
  /**
   * Takes over fields that other managers own. Default: false, and a conflict is a StatusError with
   * the reason Conflict.
   */
  readonly force?: boolean;
}

/** Finds resources by kind in the server's discovery, and caches the results. */
export class ServedKinds {
  readonly #client: Client;
  readonly #types = new Map<string, ResourceType>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Rejects with TypeError for a kind that the server does not have. */
  async resourceOf({ apiVersion = '', kind = '' }: Partial<KubeObject>): Promise<ResourceType> {
    const id = `${apiVersion} ${kind}`;
    if (!this.#types.has(id)) await this.#discover(apiVersion);
    const type = this.#types.get(id);
    if (type !== undefined) return type;
    throw new TypeError(
      `no resource is known for apiVersion ${JSON.stringify(apiVersion)}, kind ${JSON.stringify(kind)}`,
    );
  }

  async #discover(apiVersion: string): Promise<void> {
    const groupVersion = parseApiVersion(apiVersion);
    if (groupVersion === undefined) return;
    try {
      const { group, version } = groupVersion;
      for (const type of await resourcesIn(this.#client, group, version)) {
        this.#types.set(`${apiVersion} ${type.kind}`, type);
      }
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }
}

/**
 * Returns the objects of a manifest. Throws YamlError, and TypeError for a document that is not an
 * object.
 */
function objectsIn(manifest: Manifest): readonly KubeObject[] {
  const documents: readonly unknown[] =
    typeof manifest === 'string'
      ? parseYamlDocuments(manifest)
      : Array.isArray(manifest)
        ? manifest
        : [manifest];
  return documents.flatMap((document): readonly KubeObject[] => {
    if (typeof document !== 'object' || document === null || Array.isArray(document)) {
      throw new TypeError(`a manifest has objects, not ${JSON.stringify(document)}`);
    }
    const { kind, apiVersion, items } = document as {
      kind?: unknown;
      apiVersion?: unknown;
      items?: unknown;
    };
    return kind === 'List' && apiVersion === 'v1' && Array.isArray(items)
      ? objectsIn(items)
      : [document as KubeObject];
  });
}

/**
 * Server-side apply of each object, in order; an object with `generateName` and no name is created.
 * Resolves with the objects after that. Rejects with StatusError; the objects before the one that
 * failed stay applied.
 */
export async function applyManifest(
  client: Client,
  kinds: ServedKinds,
  manifest: Manifest,
  options: ApplyManifestOptions = {},
): Promise<readonly KubeObject[]> {
  const { namespace = 'default', fieldManager = 'coxswain', force } = options;
  const applied: KubeObject[] = [];
  for (const object of objectsIn(manifest)) {
    const type = await kinds.resourceOf(object);
    const all = client.resource(type as ResourceType<KubeObject>);
    const { name, generateName, namespace: own } = object.metadata ?? {};
    const resource: ResourceClient<KubeObject> = type.namespaced
      ? all.namespace(own ?? namespace)
      : all;
    if (!name && generateName) applied.push(await resource.create(object, { fieldManager }));
    else if (!name)
      throw new TypeError(`an object of kind ${String(object.kind)} has no metadata.name`);
    else
      applied.push(
        await resource.apply(object, { fieldManager, ...(force !== undefined && { force }) }),
      );
  }
  return applied;
}
