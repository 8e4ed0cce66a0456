from threading import Thread as Background

from django.http import HttpResponse


def notify(order_id):
    print(order_id)


def create(request):
    worker = Background(target=notify, args=(request.POST["order"],))  # error: CG101 14
    worker.start()
    return HttpResponse(status=202)
