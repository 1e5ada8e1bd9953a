// A CSI driver for the tests' pods, with the flags of the published hostpath driver that the tests
// set. It serves upstream's mock driver, which logs each call; or, with -proxy-endpoint, connects
// each client of its socket with a program outside of the cluster.
package main

import (
	"flag"
	"io"
	"net"
	"os"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	klog.InitFlags(nil)
	endpoint := flag.String("endpoint", "/csi/csi.sock", "path of the socket for the storage interface")
	proxyEndpoint := flag.String("proxy-endpoint", "", "tcp://ADDRESS: where the driver itself connects")
	name := flag.String("drivername", "hostpath.csi.k8s.io", "name of the driver")
	attach := flag.Bool("enable-attach", false, "volumes have to be attached")
	attachLimit := flag.Int64("attach-limit", 0, "number of volumes per node; 0: any")
	topology := flag.Bool("enable-topology", false, "volumes belong to a topology")
	expand := flag.Bool("node-expand-required", false, "volumes are expanded on the node, too")
	flag.String("nodeid", "", "not used: the mock driver has a node name of its own")
	flag.String("statedir", "", "not used: the mock driver keeps its state in memory")
	flag.Parse()

	os.Remove(*endpoint)
	listener, err := net.Listen("unix", *endpoint)
	if err != nil {
		klog.Fatalf("listening at %s: %v", *endpoint, err)
	}
	if *proxyEndpoint != "" {
		forward(listener, strings.TrimPrefix(*proxyEndpoint, "tcp://"))
		return
	}
	mock := service.New(service.Config{
		DisableAttach:         !*attach,
		DriverName:            *name,
		AttachLimit:           *attachLimit,
		NodeExpansionRequired: *expand,
		EnableTopology:        *topology,
		IO:                    service.OSDirIO{},
	})
	servers := driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock}
	if err := driver.NewCSIDriver(&servers).Start(listener, nil); err != nil {
		klog.Fatalf("serving: %v", err)
	}
	select {}
}

// forward connects each client with one connection from outside.
func forward(clients net.Listener, address string) {
	outside, err := net.Listen("tcp", address)
	if err != nil {
		klog.Fatalf("listening at %s: %v", address, err)
	}
	for {
		client, err := clients.Accept()
		if err != nil {
			klog.Fatalf("accepting a client: %v", err)
		}
		server, err := outside.Accept()
		if err != nil {
			klog.Fatalf("accepting a connection from outside: %v", err)
		}
		go join(client, server)
	}
}

// join copies in both directions until one side ends.
func join(a, b net.Conn) {
	done := make(chan struct{}, 2)
	copyAll := func(to, from net.Conn) {
		io.Copy(to, from)
		done <- struct{}{}
	}
	go copyAll(a, b)
	go copyAll(b, a)
	<-done
	a.Close()
	b.Close()
}
