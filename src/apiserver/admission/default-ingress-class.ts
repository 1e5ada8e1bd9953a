// Gives an ingress without a class the default class, if there is one. If there are several, the
// newest.

import type { Ingress, IngressClass } from '#api/groups/networking/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

const MARK = 'ingressclass.kubernetes.io/is-default-class';
/** The annotation that named the class before there was a field. */
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

export class DefaultIngressClass implements AdmissionPlugin {
  readonly name = 'DefaultIngressClass';
  readonly #services: Pick<AdmissionServices, 'findAll'>;

  constructor(services: Pick<AdmissionServices, 'findAll'>) {
    this.#services = services;
  }

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      operation === 'CREATE' &&
      resource.group === 'networking.k8s.io' &&
      resource.resource === 'ingresses' &&
      subresource === ''
    );
  }

  async admit({
    object,
  }: AdmissionAttributes & { readonly object: KubeObject }): Promise<KubeObject> {
    const ingress = object as Immutable<Ingress>;
    if (
      ingress.spec.ingressClassName !== undefined ||
      ingress.metadata.annotations?.[CLASS_ANNOTATION] !== undefined
    )
      return ingress;
    const classes = await this.#services.findAll<Immutable<IngressClass>>(
      'networking.k8s.io',
      'ingressclasses',
      '',
    );
    const [newest] = classes
      .filter(({ metadata }) => metadata.annotations?.[MARK] === 'true')
      .sort(
        (a, b) =>
          order(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
          order(a.metadata.name, b.metadata.name),
      );
    if (newest === undefined) return ingress;
    const changed: Immutable<Ingress> = {
      ...ingress,
      spec: { ...ingress.spec, ingressClassName: newest.metadata.name },
    };
    return changed;
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
