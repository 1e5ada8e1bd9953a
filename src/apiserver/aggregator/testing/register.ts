// Registers a fake aggregated server: its service, an endpoint, and the APIService.

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import { services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Client } from '#client/client.ts';

export interface RegisteredServer {
  readonly group: string;
  readonly version: string;
}

export interface RegisterOptions {
  /** The name of the service. Default: 'fake'. */
  readonly service?: string;
  readonly caBundle?: string;
  readonly insecureSkipTLSVerify?: boolean;
  readonly groupPriorityMinimum?: number;
  readonly versionPriority?: number;
  /** The address of the endpoint. Default: '10.1.2.3'. */
  readonly address?: string;
  readonly port?: number;
  /** Whether the endpoint is ready. Default: true. */
  readonly ready?: boolean;
}

export async function registerFake(
  client: Client,
  { group, version }: RegisteredServer,
  options: RegisterOptions = {},
): Promise<void> {
  const { service: name = 'fake', caBundle, insecureSkipTLSVerify } = options;
  await client
    .resource(services)
    .namespace('default')
    .create({
      metadata: { name },
      spec: { ports: [{ port: 443, targetPort: options.port ?? 6443 }] },
    });
  await registerSlice(client, name, options);
  await client.resource(apiServices).create({
    metadata: { name: `${version}.${group}` },
    spec: {
      group,
      version,
      groupPriorityMinimum: options.groupPriorityMinimum ?? 2000,
      versionPriority: options.versionPriority ?? 15,
      service: { namespace: 'default', name },
      ...(caBundle !== undefined && { caBundle }),
      ...(insecureSkipTLSVerify !== undefined && { insecureSkipTLSVerify }),
    },
  });
}

async function registerSlice(
  client: Client,
  service: string,
  options: RegisterOptions = {},
): Promise<void> {
  await client
    .resource(endpointSlices)
    .namespace('default')
    .create({
      metadata: { name: service, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: [options.address ?? '10.1.2.3'],
          conditions: { ready: options.ready ?? true },
        },
      ],
      ports: [{ name: '', port: options.port ?? 6443 }],
    });
}
