package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "apps.operator.example.com/record"

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func addReconciler(manager ctrl.Manager) error {
	reconciler := &reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("webapp")}
	return ctrl.NewControllerManagedBy(manager).For(&WebApp{}).Owns(&appsv1.Deployment{}).Complete(reconciler)
}

// Reconcile makes the Deployment what the application asks for and writes what it has become into the status.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, app)
	}
	if controllerutil.AddFinalizer(app, finalizer) {
		return ctrl.Result{}, r.Update(ctx, app)
	}

	labels := map[string]string{"webapp": app.Name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	outcome, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		deployment.Spec.Replicas = &app.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = app.Spec.Image
		return controllerutil.SetControllerReference(app, deployment, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if outcome != controllerutil.OperationResultNone {
		r.recorder.Eventf(app, deployment, corev1.EventTypeNormal, "Deployed", "Deploy", "Deployment %s %s", deployment.Name, outcome)
	}

	before := app.DeepCopyObject().(*WebApp)
	app.Status.ObservedGeneration = app.Generation
	app.Status.Replicas = deployment.Status.ReadyReplicas
	app.Status.Selector = metav1.FormatLabelSelector(deployment.Spec.Selector)
	meta.SetStatusCondition(&app.Status.Conditions, readiness(app, deployment))
	return ctrl.Result{}, r.Status().Patch(ctx, app, client.MergeFrom(before))
}

func readiness(app *WebApp, deployment *appsv1.Deployment) metav1.Condition {
	condition := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", ObservedGeneration: app.Generation,
		Message: fmt.Sprintf("%d of %d replicas are ready", deployment.Status.ReadyReplicas, app.Spec.Replicas),
	}
	current := deployment.Status.ObservedGeneration >= deployment.Generation && deployment.Status.UpdatedReplicas == app.Spec.Replicas
	if current && deployment.Status.ReadyReplicas == app.Spec.Replicas && deployment.Status.Replicas == app.Spec.Replicas {
		condition.Status, condition.Reason = metav1.ConditionTrue, "Available"
	}
	return condition
}

// finalize records the deletion in a ConfigMap, then lets the application go.
func (r *reconciler) finalize(ctx context.Context, app *WebApp) error {
	if !controllerutil.ContainsFinalizer(app, finalizer) {
		return nil
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "deleted-" + app.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, record, func() error {
		record.Data = map[string]string{"uid": string(app.UID)}
		return nil
	})
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(app, finalizer)
	return r.Update(ctx, app)
}
