// Protects owners and dependents: a change of an object's owners needs the permission to delete the
// object, since the garbage collector may delete it then. A reference that blocks the deletion of the
// owner needs the permission to set the owner's finalizers, which would do the same.

import type { OwnerReference } from '#api/machinery/meta/v1/index.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { Authorizer, Attributes } from '../../authorization/authorizer.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

type References = readonly Readonly<OwnerReference>[];

export class OwnerReferencesPermissionEnforcement implements AdmissionPlugin {
  readonly name = 'OwnerReferencesPermissionEnforcement';
  readonly #authorizer: Authorizer;
  readonly #catalog: Catalog;

  constructor({
    authorizer,
    catalog,
  }: {
    readonly authorizer: Authorizer;
    readonly catalog: Catalog;
  }) {
    this.#authorizer = authorizer;
    this.#catalog = catalog;
  }

  /** The strategy of a pod's status keeps its owners. */
  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    const isPodStatus =
      resource.group === '' && resource.resource === 'pods' && subresource === 'status';
    return (operation === 'CREATE' || operation === 'UPDATE') && !isPodStatus;
  }

  handles({ object, oldObject }: AdmissionAttributes): boolean {
    return !semanticEqual(referencesOf(object), referencesOf(oldObject));
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { operation, oldObject, object, user } = attributes;
    if (operation !== 'CREATE') await this.#mayDelete(attributes);
    const blocking = newBlocking(referencesOf(object), referencesOf(oldObject));
    if (blocking.length === 0) return;
    // A user who may set the finalizers of everything needs no look at each owner.
    const anything = { user, apiGroup: '*', apiVersion: '*', resource: '*', name: '*' };
    const { decision } = await this.#authorizer.authorize(finalizing(anything));
    if (decision === 'allow') return;
    for (const reference of blocking) await this.#mayFinalize(attributes, reference);
  }

  async #mayDelete(attributes: AdmissionAttributes): Promise<void> {
    const { user, resource, subresource, namespace, name } = attributes;
    const { decision, reason = '' } = await this.#authorizer.authorize({
      user,
      isResourceRequest: true,
      path: '',
      verb: 'delete',
      apiGroup: resource.group,
      apiVersion: resource.version,
      namespace,
      resource: resource.resource,
      subresource,
      name,
    });
    if (decision === 'allow') return;
    throw forbidden(
      attributes,
      `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`,
    );
  }

  async #mayFinalize(
    attributes: AdmissionAttributes,
    owner: Readonly<OwnerReference>,
  ): Promise<void> {
    const { apiVersion, kind, name } = owner;
    const groupVersion = parseApiVersion(apiVersion);
    const found = groupVersion && this.#catalog.snapshot().getKind({ ...groupVersion, kind });
    if (groupVersion === undefined || found === undefined)
      throw forbidden(
        attributes,
        'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for ' +
          `APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`,
      );
    const { type } = found;
    const { decision, reason = '' } = await this.#authorizer.authorize(
      finalizing({
        user: attributes.user,
        apiGroup: type.group,
        apiVersion: type.version,
        resource: type.resource,
        name,
        // An owner in a namespace is in that of the dependent.
        namespace: type.namespaced ? attributes.namespace : '',
      }),
    );
    if (decision === 'allow') return;
    throw forbidden(
      attributes,
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set " +
        `finalizers on: ${reason}, <nil>`,
    );
  }
}

const referencesOf = (object: AdmissionAttributes['object']): References =>
  object?.metadata.ownerReferences ?? [];

/** Returns the references that block now, and did not before. */
function newBlocking(references: References, before: References): References {
  const wasBlocking = new Set(
    before.filter((each) => each.blockOwnerDeletion === true).map(({ uid }) => uid),
  );
  return references.filter(
    ({ blockOwnerDeletion, uid }) => blockOwnerDeletion === true && !wasBlocking.has(uid),
  );
}

type Finalizing = Pick<Attributes, 'user' | 'apiGroup' | 'apiVersion' | 'resource' | 'name'> &
  Partial<Pick<Attributes, 'namespace'>>;

function finalizing(fields: Finalizing): Attributes {
  const rest = { isResourceRequest: true, path: '', verb: 'update', subresource: 'finalizers' };
  return { namespace: '', ...rest, ...fields };
}

function forbidden({ resource, name, object }: AdmissionAttributes, why: string): Error {
  return apierrors.forbidden(resource, name === '' ? (object?.metadata.name ?? '') : name, why);
}
