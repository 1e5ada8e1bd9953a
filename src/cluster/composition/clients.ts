// The clients and connections by which components and the program reach the API server of their
// process.

import { pipeline, type Duplex } from 'node:stream';
import type { ApiServer } from '#apiserver/server.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '#client/in-process.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { componentOfUser } from '#simulation/index.ts';
import type { ResumeConfig } from './cluster-config.ts';
import { componentOf, type User } from '../components/index.ts';

interface Config {
  readonly server: () => ApiServer;
  /** Lists and watches of components have the latest heartbeats of nodes (see the transport). */
  readonly latestHeartbeats: boolean;
  readonly resume: ResumeConfig | undefined;
}

const AUTHENTICATED = 'system:authenticated';

export class ClusterClients {
  readonly #config: Config;

  constructor(config: Config) {
    this.#config = config;
  }

  /** Returns the handler of the user's requests. `component`: see ApiServer.inProcess. */
  handlerOf(user: User, component?: string): InProcessHandler {
    return this.#config.server().inProcess(authenticated(user), component);
  }

  /** Returns a client for a component of the cluster. */
  ofComponent(user: User, userAgent = componentOf(user.name), instance = ''): Client {
    const handler = this.handlerOf(user, componentOfUser(user.name, userAgent, instance));
    const { latestHeartbeats } = this.#config;
    return createClient(createInProcessTransport({ handler, userAgent, latestHeartbeats }));
  }

  /** Returns a client for the program that the cluster is in, not for a component. */
  ofProgram(user: User, component?: string, userAgent = componentOf(user.name)): Client {
    const served = this.handlerOf(user, component ?? componentOfUser(user.name, userAgent, ''));
    const { resume } = this.#config;
    const handler: InProcessHandler =
      resume === undefined
        ? served
        : async (request) => {
            await resume.beforeRequest(request.method, request.path);
            return served(request);
          };
    return createClient(createInProcessTransport({ handler, userAgent }));
  }

  /** Returns a connection of the user to the API server that speaks HTTP/1.1. */
  connect(user: User): Duplex {
    const connect = (): Duplex => this.#config.server().connect(user);
    // A connection may be used for anything.
    const ready = this.#config.resume?.beforeRequest('CONNECT', '/');
    return ready === undefined ? connect() : connectLater(ready, connect);
  }
}

/** Returns the user as the server authenticates it. */
export function authenticated({ name, groups }: User): User {
  return { name, groups: groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED] };
}

/** Returns a connection that is made when the promise resolves, and destroyed when it rejects. */
function connectLater(ready: Promise<void>, connect: () => Duplex): Duplex {
  const [near, far] = duplexPair();
  ready.then(
    () => pipeline(far, connect(), far, () => undefined),
    (error: Error) => near.destroy(error),
  );
  return near;
}
