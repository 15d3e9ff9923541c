def list_items(request):
    if spent(request):
        abort(429)
    return items()
