// Clients for controllers as in a real cluster: each controller writes as its own ServiceAccount,
// with the role that the API server has for it, and all informers read as the controller manager. A
// controller that exceeds its role is detected.

import type { ApiServer } from '#apiserver/server.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { Transport } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { CONTROLLER_NAMES, controllerEntry } from '../controllers.ts';

const AUTHENTICATED = 'system:authenticated';
const ADMIN: UserInfo = { name: 'system:admin', groups: ['system:masters', AUTHENTICATED] };
/** The path of a deletion of all objects of a resource in a namespace. */
const COLLECTION = /^\/(api|apis\/[^/]+)\/[^/]+\/namespaces\/[^/]+\/[^/]+$/;
/** Paths of the node proxy are not objects. */
const PROXIED = /^\/api\/v1\/nodes\/[^/]+\/proxy\//;
const MANAGER: UserInfo = { name: 'system:kube-controller-manager', groups: [AUTHENTICATED] };

/** Returns the user that a controller writes as; other clients of a test are administrators. */
function userOf(controller: string): UserInfo {
  const name = CONTROLLER_NAMES.find(
    (known) => known === controller || controllerEntry(known).account === controller,
  );
  if (name === undefined) return ADMIN;
  const { account } = controllerEntry(name);
  if (account === undefined) return MANAGER;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', AUTHENTICATED];
  return { name: `system:serviceaccount:kube-system:${account}`, groups };
}

export class ControllerClients {
  readonly #server: ApiServer;
  /** Requests that no role allowed. */
  readonly #refused = new Set<string>();
  /** Deletions without a UID precondition. */
  readonly #blind = new Set<string>();

  constructor(server: ApiServer) {
    this.#server = server;
  }

  /** The transport of the informers. `component`: names the client for faults. */
  manager(component?: string): Transport {
    return this.#as(() => MANAGER, component);
  }

  /**
   * The transport of a controller. `name` is called at each request, since a controller gets its
   * client before it has a name. `component`: names the client for faults.
   */
  controller(name: () => string, component?: string): Transport {
    return this.#as(() => userOf(name()), component);
  }

  /** Throws if a controller exceeded its role, or deleted an object by name alone. */
  expectGoodManners(): void {
    if (this.#refused.size > 0)
      throw new Error(`beyond the controllers' roles:\n${[...this.#refused].join('\n')}`);
    if (this.#blind.size > 0)
      throw new Error(`deletions without the UID that is meant:\n${[...this.#blind].join('\n')}`);
  }

  #as(user: () => UserInfo, component?: string): Transport {
    const handlers = new Map<string, ReturnType<ApiServer['inProcess']>>();
    return createInProcessTransport({
      handler: async (request) => {
        const who = user();
        if (
          request.method === 'DELETE' &&
          who !== ADMIN &&
          !COLLECTION.test(request.path) &&
          !PROXIED.test(request.path)
        ) {
          const options = request.body.object as { preconditions?: { uid?: string } } | undefined;
          if (options?.preconditions?.uid === undefined)
            this.#blind.add(`${who.name}: ${request.path}`);
        }
        let handler = handlers.get(who.name);
        if (handler === undefined)
          handlers.set(who.name, (handler = this.#server.inProcess(who, component)));
        try {
          return await handler(request);
        } catch (error) {
          const message = error instanceof Error ? error.message : '';
          if (apierrors.isForbidden(error) && message.includes(`User "${who.name}" cannot`))
            this.#refused.add(message);
          throw error;
        }
      },
    });
  }
}
