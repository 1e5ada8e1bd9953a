// Controllers as in a real cluster: each writes as a ServiceAccount of its own, with the role that the API server keeps for it, and
// all read through the controller manager. A controller that exceeds its role is detected.

import type { ApiServer } from '#apiserver/server.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { Transport } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { CONTROLLER_NAMES, controllerEntry } from '../controllers.ts';

const AUTHENTICATED = 'system:authenticated';
const ADMIN: UserInfo = { name: 'system:admin', groups: ['system:masters', AUTHENTICATED] };
/** A deletion of all objects of a resource in a namespace has no name. */
const COLLECTION = /^\/(api|apis\/[^/]+)\/[^/]+\/namespaces\/[^/]+\/[^/]+$/;
/** Paths behind a node are not objects. */
const PROXIED = /^\/api\/v1\/nodes\/[^/]+\/proxy\//;
const MANAGER: UserInfo = { name: 'system:kube-controller-manager', groups: [AUTHENTICATED] };

/** Which user a controller writes as; helpers of tests, which are none, are administrators. */
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
  /** Requests that no role allows. */
  readonly #refused = new Set<string>();
  /** Deletions that did not say of which object they were meant. */
  readonly #blind = new Set<string>();

  constructor(server: ApiServer) {
    this.#server = server;
  }

  /** For the informers. `component`: names the client for faults. */
  manager(component?: string): Transport {
    return this.#as(() => MANAGER, component);
  }

  /** For a controller; `name` is asked at each request, since a controller is given its client before it can tell its name. */
  controller(name: () => string, component?: string): Transport {
    return this.#as(() => userOf(name()), component);
  }

  /** Throws if a controller tried what its role does not allow, or deleted by name alone. */
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
