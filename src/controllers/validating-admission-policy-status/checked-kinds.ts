// The kinds that an admission policy is type-checked against: those of the scheme, and custom kinds
// by the server's current OpenAPI documents.

import type { CheckedKinds } from '#api/groups/admissionregistration/v1/type-checking.ts';
import type { ValidatingAdmissionPolicy } from '#api/groups/admissionregistration/v1/index.ts';
import { celTypeOfObjects, type PublishedSchema } from '#api/machinery/codec/structural/index.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { APIResourceList, Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseApiVersion, type Scheme } from '#api/machinery/scheme.ts';
import type { Client } from '#client/client.ts';
import { groupVersionPath } from '#client/request.ts';
import * as apierrors from '#machinery/apierrors.ts';

type Policy = Immutable<ValidatingAdmissionPolicy>;

/** The maximum number of groups and versions per policy; further ones are not checked. */
const MAX_GROUP_VERSIONS = 20;

export class KindResolver {
  readonly #scheme: Scheme;
  readonly #client: Client;

  constructor(scheme: Scheme, client: Client) {
    this.#scheme = scheme;
    this.#client = client;
  }

  /**
   * Returns the kinds that the policy names. Kinds that are not served or have no schema are left
   * out.
   */
  async kindsOf(policy: Policy, signal: AbortSignal): Promise<CheckedKinds> {
    const resources = [...this.#scheme.schemas.resources()];
    const types = new Map<string, ReturnType<CheckedKinds['typeOf']>>();
    for (const [group, version] of this.#customVersions(policy)) {
      const named = (await this.#resourcesOf(group, version, signal)).filter((resource) =>
        isNamed(policy, resource),
      );
      const schemas = named.length === 0 ? [] : await this.#schemasOf(group, version, signal);
      for (const resource of named) {
        const schema = schemas.find((schema) => describes(schema, resource));
        if (schema === undefined) continue;
        resources.push(resource);
        types.set(keyOf(resource), celTypeOfObjects(resource.kind, schema));
      }
    }
    return {
      resources,
      typeOf: (kind) => this.#scheme.codecOf(kind)?.celType ?? types.get(keyOf(kind)),
    };
  }

  /** Returns the groups and versions that the policy names, without those of the scheme. */
  #customVersions({ spec }: Policy): readonly (readonly [group: string, version: string])[] {
    const builtIn = new Set(this.#scheme.schemas.resources().map(({ group }) => group));
    const found = new Map<string, readonly [string, string]>();
    const add = (group: string, version: string): void => {
      if (
        group === '*' ||
        version === '*' ||
        builtIn.has(group) ||
        found.size >= MAX_GROUP_VERSIONS
      )
        return;
      found.set(`${group}/${version}`, [group, version]);
    };
    const params = parseApiVersion(spec.paramKind?.apiVersion ?? '');
    if (params !== undefined) add(params.group, params.version);
    for (const { apiGroups, apiVersions } of spec.matchConstraints?.resourceRules ?? []) {
      for (const group of apiGroups ?? [])
        for (const version of apiVersions ?? []) add(group, version);
    }
    return [...found.values()];
  }

  async #resourcesOf(
    group: string,
    version: string,
    signal: AbortSignal,
  ): Promise<readonly ResourceType[]> {
    const path = groupVersionPath(group, version);
    const list = await apierrors.unlessMissing(
      this.#client.transport.request<APIResourceList>({ method: 'GET', path, signal }),
    );
    return (list?.resources ?? []).map(({ name, singularName, kind, namespaced }) => ({
      group,
      version,
      resource: name,
      singular: singularName,
      kind,
      namespaced,
      shortNames: [],
      categories: [],
      subresources: [],
    }));
  }

  async #schemasOf(
    group: string,
    version: string,
    signal: AbortSignal,
  ): Promise<readonly PublishedSchema[]> {
    const path = `/openapi/v3${groupVersionPath(group, version)}`;
    const document = await apierrors.unlessMissing(
      this.#client.transport.request<Document>({ method: 'GET', path, signal }),
    );
    return Object.values(document?.components?.schemas ?? {});
  }
}

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, PublishedSchema>> };
}

function describes(schema: PublishedSchema, { group, version, kind }: GroupVersionKind): boolean {
  const kinds = schema['x-kubernetes-group-version-kind'] ?? [];
  return kinds.some(
    (each) => each.group === group && each.version === version && each.kind === kind,
  );
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version} ${kind}`;

/** Reports whether a rule names the resource, or the policy's parameters are of its kind. */
function isNamed({ spec }: Policy, { group, version, resource, kind }: ResourceType): boolean {
  const params = parseApiVersion(spec.paramKind?.apiVersion ?? '');
  if (params?.group === group && params.version === version && spec.paramKind?.kind === kind)
    return true;
  return (spec.matchConstraints?.resourceRules ?? []).some(
    ({ apiGroups, apiVersions, resources }) =>
      apiGroups?.includes(group) === true &&
      apiVersions?.includes(version) === true &&
      resources?.includes(resource) === true,
  );
}
