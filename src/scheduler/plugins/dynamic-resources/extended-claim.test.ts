import { describe, expect, test } from 'vitest';
import type { Container } from '#api/groups/core/v1/index.ts';
import { makePod } from '#scheduler/testing/objects.ts';
import { extendedClaim } from './extended-claim.ts';

const RESOURCE = 'example.com/gpu';

function container(name: string, gpus: number, more: Partial<Container> = {}): Container {
  const requests = gpus === 0 ? {} : { requests: { cpu: '1', [RESOURCE]: String(gpus) } };
  return { name, image: 'i', resources: requests, ...more };
}

/** Returns the requests as 'name count', and the mapping of containers to requests. */
function claimFor(containers: readonly Container[], initContainers: readonly Container[] = []) {
  const pod = makePod('p', {
    spec: { containers: [...containers], initContainers: [...initContainers] },
  });
  const { claim, mappings } = extendedClaim(pod, new Map([[RESOURCE, 'gpu']]), 'uid');
  return {
    requests: (claim.spec.devices.requests ?? []).map(
      ({ name, exactly }) => `${name} ${exactly?.count}`,
    ),
    uses: mappings.map(({ containerName, requestName }) => `${containerName} ${requestName}`),
  };
}

describe('extendedClaim', () => {
  test('has a request for each container that runs for the whole life of the pod', () => {
    const sidecar = container('side', 1, { restartPolicy: 'Always' });
    expect(
      claimFor([container('a', 2), container('none', 0), container('b', 1)], [sidecar]),
    ).toEqual({
      requests: ['container-0-request-1 1', 'container-1-request-1 2', 'container-3-request-1 1'],
      uses: ['side container-0-request-1', 'a container-1-request-1', 'b container-3-request-1'],
    });
  });

  test('lets earlier containers use the same devices, and requests only what is missing', () => {
    expect(claimFor([container('a', 1), container('b', 1)], [container('first', 2)])).toEqual({
      requests: ['container-1-request-1 1', 'container-2-request-1 1'],
      uses: [
        'a container-1-request-1',
        'b container-2-request-1',
        'first container-1-request-1',
        'first container-2-request-1',
      ],
    });
    expect(claimFor([container('a', 1)], [container('first', 2), container('second', 4)])).toEqual({
      requests: ['container-1-request-1 3', 'container-2-request-1 1'],
      uses: [
        'a container-2-request-1',
        'first container-2-request-1',
        'first container-1-request-1',
        'second container-2-request-1',
        'second container-1-request-1',
      ],
    });
  });

  test('does not share devices of a running sidecar with a later container', () => {
    const sidecar = container('side', 1, { restartPolicy: 'Always' });
    expect(claimFor([container('a', 0)], [sidecar, container('later', 1)]).requests).toEqual([
      'container-0-request-1 1',
      'container-1-request-1 1',
    ]);
    expect(claimFor([container('a', 0)], [container('sooner', 1), sidecar]).requests).toEqual([
      'container-1-request-1 1',
    ]);
  });
});
