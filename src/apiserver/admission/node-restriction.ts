// A kubelet may write its own node, its own lease and the pods that run on its node, and nothing of the others.

import type { Pod } from '../../api/core/v1/index.ts';
import type { TokenRequest } from '../../api/authentication/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import * as apierrors from '../../machinery/apierrors.ts';
import { quote } from '../../machinery/go-format.ts';
import type { UserInfo } from '../request.ts';
import type { AdmissionServices } from './defaults.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';
import { isMirrorPod } from './pod-defaults.ts';
import type { ImmutablePod } from './pod-defaults.ts';

const NODE_USER_PREFIX = 'system:node:';

/** The node that a user is; undefined for all who are none. */
export function nodeOfUser(user: UserInfo): string | undefined {
  if (!user.name.startsWith(NODE_USER_PREFIX) || !user.groups.includes('system:nodes')) return undefined;
  return user.name.slice(NODE_USER_PREFIX.length);
}

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction';
  readonly #services: Pick<AdmissionServices, 'find'>;

  constructor(services: Pick<AdmissionServices, 'find'>) {
    this.#services = services;
  }

  handles({ user, operation }: AdmissionAttributes): boolean {
    return operation !== 'CONNECT' && nodeOfUser(user) !== undefined;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const node = nodeOfUser(attributes.user) as string;
    const { resource, subresource } = attributes;
    const what = `${resource.group}/${resource.resource}${subresource === '' ? '' : `/${subresource}`}`;
    const why = await this.#objection(attributes, node, what);
    if (why === undefined) return;
    const name = attributes.name === '' ? (attributes.object?.metadata.name ?? '') : attributes.name;
    throw apierrors.forbidden(resource, name, why);
  }

  async #objection(attributes: AdmissionAttributes, node: string, what: string): Promise<string | undefined> {
    const { operation, name, object, oldObject } = attributes;
    switch (what) {
      case '/nodes':
      case '/nodes/status': {
        const target = name === '' ? (object?.metadata.name ?? '') : name;
        return target === node ? undefined : `node ${quote(node)} is not allowed to modify node ${quote(target)}`;
      }
      case '/pods':
        return operation === 'DELETE' ? ownPod(oldObject, node, 'delete pods') : mirrorPod(object, node);
      case '/pods/status':
        return ownPod(oldObject, node, 'update pod status for pods');
      case '/pods/eviction': {
        const pod = await this.#services.find<Immutable<Pod>>('', 'pods', attributes.namespace, name);
        return ownPod(pod, node, 'evict pods');
      }
      case '/serviceaccounts/token':
        return this.#tokenObjection(attributes, node);
      case 'coordination.k8s.io/leases':
        if (attributes.namespace !== 'kube-node-lease') return 'can only access leases in the "kube-node-lease" system namespace';
        return name === node ? undefined : 'can only access node lease with the same name as the requesting node';
      default:
        return undefined;
    }
  }

  async #tokenObjection({ object, namespace }: AdmissionAttributes, node: string): Promise<string | undefined> {
    const reference = (object as Immutable<TokenRequest> | undefined)?.spec.boundObjectRef ?? undefined;
    if (reference === undefined) return `node requested token not bound to a pod`;
    if (reference.apiVersion !== 'v1' || reference.kind !== 'Pod' || (reference.name ?? '') === '') {
      return 'node requested token not bound to a pod';
    }
    if ((reference.uid ?? '') === '') return 'node requested token with a pod binding without a uid';
    const pod = await this.#services.find<Immutable<Pod>>('', 'pods', namespace, reference.name as string);
    if (pod === undefined || pod.metadata.uid !== reference.uid) return 'the pod that the token is to be bound to does not exist';
    return pod.spec.nodeName === node ? undefined : `node requested token bound to a pod scheduled on a different node`;
  }
}

function ownPod(pod: unknown, node: string, action: string): string | undefined {
  const nodeName = (pod as ImmutablePod | undefined)?.spec.nodeName;
  return nodeName === node ? undefined : `node ${quote(node)} can only ${action} with spec.nodeName set to itself`;
}

function mirrorPod(object: unknown, node: string): string | undefined {
  const pod = object as ImmutablePod;
  if (!isMirrorPod(pod))
    return `pod does not have "kubernetes.io/config.mirror" annotation, node ${quote(node)} can only create mirror pods`;
  if (pod.spec.nodeName !== node) return `node ${quote(node)} can only create pods with spec.nodeName set to itself`;
  if ((pod.spec.serviceAccountName ?? '') !== '')
    return `node ${quote(node)} can not create pods that reference a service account`;
  return undefined;
}
