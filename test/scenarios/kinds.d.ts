import type { ResourceType } from '../../src/api/descriptor.ts';
import type { KubeObject } from '../../src/client/client.ts';
export type AnyResource = ResourceType<KubeObject>;
export declare function resourceNamed(word: string): AnyResource;
/** 'rs/web', with the resource and the name. */
export declare function objectNamed(word: string): {
    readonly type: AnyResource;
    readonly name: string;
};
/** 'replicaset.apps/web', as kubectl names what it has changed. */
export declare function displayName(type: AnyResource, name: string): string;
