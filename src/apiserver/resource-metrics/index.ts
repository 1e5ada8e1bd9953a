// The usage of nodes and pods, from their kubelets.

export { kubeletScraper } from './kubelet-scraper.ts';
export { NodeSamples, type NodeUsages } from './node-samples.ts';
export { podKey } from './summary.ts';
export type { Usage } from './usage.ts';
