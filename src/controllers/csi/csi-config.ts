// The settings that the controllers of a CSI driver share.

import type { ControllerConfig } from '../controller.ts';
import type { CsiControllerService } from './csi-controller-service.ts';

export interface CsiControllerConfig extends ControllerConfig {
  /** The driver's name: the provisioner of its storage classes. */
  readonly driver: string;
  readonly service: CsiControllerService;
  /**
   * The node on which the driver runs, if each node has its own with its own volumes. These
   * controllers then care for that node alone. Default: one driver for all nodes.
   */
  readonly nodeName?: string;
  /** The file system of volumes whose storage class names none. Default: the driver chooses. */
  readonly defaultFsType?: string;
}
