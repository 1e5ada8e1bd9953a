// The variables by which containers address services without DNS: REDIS_SERVICE_HOST,
// REDIS_PORT_6379_TCP_ADDR …

import { services } from '#api/groups/core/v1/index.ts';
import type { InformerSource } from '#client/informers/index.ts';
import type { Service } from '../types.ts';

/**
 * Returns the services that a pod's containers see: those of its namespace, if service links are
 * enabled, and always the API server.
 */
function visibleServices(
  services: readonly Service[],
  namespace: string,
  links: boolean,
): readonly Service[] {
  const byName = new Map<string, Service>();
  const addressed = services.filter(
    (service) =>
      service.spec.clusterIP !== undefined &&
      service.spec.clusterIP !== '' &&
      service.spec.clusterIP !== 'None',
  );
  for (const service of addressed) {
    if (service.metadata.namespace === 'default' && service.metadata.name === 'kubernetes')
      byName.set('kubernetes', service);
  }
  if (links) {
    for (const service of addressed) {
      // A service in the pod's own namespace takes precedence.
      if (service.metadata.namespace === namespace) byName.set(service.metadata.name, service);
    }
  }
  return [...byName.values()];
}

/** The variables of the current services, computed once per namespace until a service changes. */
export class ServiceVariables {
  readonly #services: () => readonly Service[];
  readonly #made = new Map<string, ReadonlyMap<string, string>>();

  constructor(services: () => readonly Service[]) {
    this.#services = services;
  }

  /** Drops the variables after a change of services. */
  changed(): void {
    this.#made.clear();
  }

  for(namespace: string, links: boolean): ReadonlyMap<string, string> {
    const key = `${links ? 'all' : 'api'} ${namespace}`;
    let variables = this.#made.get(key);
    if (variables === undefined) {
      variables = serviceVariables(visibleServices(this.#services(), namespace, links));
      this.#made.set(key, variables);
    }
    return variables;
  }
}

/** Returns the variables of the services that the informer of all services has. */
export function followServices(informers: InformerSource): ServiceVariables {
  const informer = informers.informerFor(services);
  const variables = new ServiceVariables(() => informer.lister.list());
  const changed = (): void => variables.changed();
  informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  return variables;
}

function serviceVariables(services: readonly Service[]): Map<string, string> {
  const variables = new Map<string, string>();
  for (const service of services) {
    const host = service.spec.clusterIP ?? '';
    const name = variableName(service.metadata.name);
    const ports = service.spec.ports ?? [];
    variables.set(`${name}_SERVICE_HOST`, host);
    if (ports[0] !== undefined) variables.set(`${name}_SERVICE_PORT`, String(ports[0].port));
    for (const port of ports) {
      if (port.name !== undefined && port.name !== '')
        variables.set(`${name}_SERVICE_PORT_${variableName(port.name)}`, String(port.port));
    }
    ports.forEach((port, index) => {
      const protocol = (port.protocol ?? 'TCP').toLowerCase();
      const url = `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port.port}`;
      if (index === 0) variables.set(`${name}_PORT`, url);
      const prefix = `${name}_PORT_${port.port}_${protocol.toUpperCase()}`;
      variables.set(prefix, url);
      variables.set(`${prefix}_PROTO`, protocol);
      variables.set(`${prefix}_PORT`, String(port.port));
      variables.set(`${prefix}_ADDR`, host);
    });
  }
  return variables;
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
